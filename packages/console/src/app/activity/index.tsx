import type { JSX } from "preact";
import { Late } from "../parts/late.tsx";

/** The activity log and the grants. They are loaded when they are first opened. */
export function Activity(): JSX.Element {
  return <Late label="Opening the activity log" load={() => import("./activity.tsx")} name="ActivitySide" />;
}
