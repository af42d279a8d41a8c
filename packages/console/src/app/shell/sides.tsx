import type { JSX } from "preact";
import { Icon } from "../parts/icon.tsx";
import { usePage } from "../state/console.ts";
import { hrefOf } from "../state/route.ts";

/** The way between both sides. Each leads back to where the person was. */
export function Sides(): JSX.Element {
  const page = usePage();
  const { side } = page.route.value;
  return (
    <nav class="seg" aria-label="Side">
      <a href={page.places.value.chat ?? hrefOf("chat")} aria-current={side === "chat" ? "page" : undefined}>
        <Icon name="chat" />
        Chat
      </a>
      <a href={page.places.value.inspect ?? hrefOf("inspect")} aria-current={side === "inspect" ? "page" : undefined}>
        <Icon name="scope" />
        Inspect
      </a>
    </nav>
  );
}
