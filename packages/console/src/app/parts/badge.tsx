import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./icon.tsx";

export type Tone = "plain" | "ok" | "warn" | "danger" | "accent";

/** A word about a thing, read only. */
export function Badge({ tone, children }: { tone?: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <span class="badge num" data-tone={tone}>
      {children}
    </span>
  );
}

/** A sentence that stands apart, with an icon. */
export function Note(props: { tone?: Tone; icon?: IconName; children: ComponentChildren }): JSX.Element {
  const { tone = "plain", icon = defaultIcons[tone], children } = props;
  return (
    <div class="note" data-tone={tone}>
      <Icon name={icon} />
      <div class="grow">{children}</div>
    </div>
  );
}

const defaultIcons: { readonly [T in Tone]: IconName } = {
  plain: "info",
  ok: "check",
  warn: "warn",
  danger: "warn",
  accent: "info",
};
