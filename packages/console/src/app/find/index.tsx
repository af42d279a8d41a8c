import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FindDialogs } from "./actions.ts";

interface FindProps {
  readonly onClose: () => void;
  readonly dialogs: FindDialogs;
}

/** Finds every server, tool, resource, prompt, message and action. It is loaded when it is first opened. */
export function Find({ onClose, dialogs }: FindProps): JSX.Element | null {
  const [Part, setPart] = useState<ComponentType<FindProps> | undefined>(undefined);
  useEffect(() => {
    import("./find.tsx").then(({ FindDialog }) => setPart(() => FindDialog), onClose);
  }, []);
  return Part ? <Part onClose={onClose} dialogs={dialogs} /> : null;
}
