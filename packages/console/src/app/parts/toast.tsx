import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { type ToastMessage, usePage } from "../state/console.ts";
import { plainText } from "./attributes.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { ServerText } from "./quoted.tsx";

const shownMs = 6_000;
const icons: { readonly [T in ToastMessage["tone"]]: IconName } = { plain: "info", ok: "check", danger: "warn" };

/** The short messages of the page, and what is said to screen readers. */
export function Toasts(): JSX.Element {
  const page = usePage();
  return (
    <>
      <div class="hidden" role="status" aria-live="polite">
        {plainText(page.said.value)}
      </div>
      <section class="toasts" aria-label="Notices">
        {page.toasts.value.map((toast) => (
          <Toast key={toast.id} toast={toast} />
        ))}
      </section>
    </>
  );
}

function Toast({ toast }: { toast: ToastMessage }): JSX.Element {
  const page = usePage();
  const { id, text, tone, action } = toast;
  const remove = () => {
    page.toasts.value = page.toasts.peek().filter((other) => other.id !== id);
  };
  useEffect(() => {
    // A failure stays until the person has read it.
    if (tone === "danger") return;
    const timer = setTimeout(remove, shownMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="toast pop" data-tone={tone}>
      <Icon name={icons[tone]} />
      <span class="grow">
        <ServerText text={text} />
      </span>
      {action && (
        <Button
          size="small"
          tone="quiet"
          onClick={() => {
            remove();
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <Button size="small" tone="quiet" icon="x" label="Close the message" onClick={remove} />
    </div>
  );
}
