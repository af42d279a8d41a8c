import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Rose } from "./rose.tsx";

/** The page of a tab without a session. */
export function Closed({ isExpired, reason }: { isExpired?: boolean; reason?: string }): JSX.Element {
  return (
    <main class="cover">
      <div class="empty">
        <Rose />
        <h1>{isExpired ? "This console has ended" : reason ? "The console cannot be opened" : "Open the console"}</h1>
        <p>
          {reason ??
            (isExpired
              ? "Another one may run now. What you typed here is kept until you close this tab."
              : "This tab does not know the console yet.")}
        </p>
        <p>Open the address that the command has printed in the terminal, or run it again:</p>
        <CopyCommand command="portolan console" />
        {reason !== undefined && (
          <Button icon="replay" onClick={() => location.reload()}>
            Try again
          </Button>
        )}
      </div>
    </main>
  );
}

/** A command for the terminal, to copy: a page cannot start the console again. */
export function CopyCommand({ command }: { command: string }): JSX.Element {
  const [words, setWords] = useState("Copy");
  const copy = () =>
    navigator.clipboard.writeText(command).then(
      () => setWords("Copied"),
      () => setWords("Select it, and copy it"),
    );
  return (
    <span class="row command">
      <code>{command}</code>
      <Button size="small" icon="copy" label={`Copy ${command}`} onClick={() => void copy()}>
        {words}
      </Button>
    </span>
  );
}
