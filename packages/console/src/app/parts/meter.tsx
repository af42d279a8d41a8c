import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** How far something has come. Without `total`, something moves. */
export function Progress(props: { label: string; value: number; total?: number }): JSX.Element {
  const { label, value, total } = props;
  const share = total === undefined || total <= 0 ? undefined : Math.min(1, Math.max(0, value / total));
  return (
    <div
      class="meter"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={share === undefined ? undefined : 100}
      aria-valuenow={share === undefined ? undefined : Math.round(share * 100)}
    >
      {share === undefined ? <i class="unknown" /> : <Share share={share} />}
    </div>
  );
}

/** Shares of a whole, in the order of their names in a legend. */
export function Shares({ label, shares }: { label: string; shares: readonly number[] }): JSX.Element {
  return (
    <div class="meter thick" role="img" aria-label={label}>
      {shares.map((share, index) => share > 0 && <Share key={index} share={share} index={index} />)}
    </div>
  );
}

/** A circle that fills. */
export function Ring({ share }: { share: number }): JSX.Element {
  const around = 2 * Math.PI * 6;
  return (
    <svg class="ring" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="6" />
      <circle cx="8" cy="8" r="6" stroke-dasharray={`${Math.min(1, share) * around} ${around}`} />
    </svg>
  );
}

/** The policy of the page forbids style attributes, but not styles that a script sets. */
function Share({ share, index }: { share: number; index?: number }): JSX.Element {
  const bar = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (bar.current) bar.current.style.width = `${share * 100}%`;
  }, [share]);
  return <i ref={bar} data-share={index} />;
}
