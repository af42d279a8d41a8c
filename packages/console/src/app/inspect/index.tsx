import type { JSX } from "preact";
import { Late } from "../parts/late.tsx";

/** The side for the developer of a server. It is loaded when it is first opened. */
export function Inspect(): JSX.Element {
  return <Late label="Opening Inspect" load={() => import("./inspect.tsx")} name="InspectSide" />;
}
