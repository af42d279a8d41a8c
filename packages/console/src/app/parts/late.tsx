import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { Bones, Empty } from "./empty.tsx";

interface LateProps<N extends string> {
  /** Said to screen readers while it is loaded. */
  readonly label: string;
  readonly load: () => Promise<{ readonly [name in N]: ComponentType }>;
  /** The component in the module. */
  readonly name: N;
}

/** A component that is loaded when it is first shown. */
export function Late<N extends string>({ label, load, name }: LateProps<N>): JSX.Element {
  const [part, setPart] = useState<ComponentType | undefined>(undefined);
  const [isLost, setLost] = useState(false);
  const begin = () => {
    setLost(false);
    load().then(
      (module) => setPart(() => module[name]),
      () => setLost(true),
    );
  };
  useEffect(begin, []);
  if (isLost) {
    return (
      <Empty icon="plug" title="This part could not be loaded">
        <p>Is the console still running?</p>
        <Button onClick={begin}>Try again</Button>
      </Empty>
    );
  }
  const Part = part;
  return Part ? (
    <Part />
  ) : (
    <div class="pad">
      <Bones label={label} rows={6} />
    </div>
  );
}
