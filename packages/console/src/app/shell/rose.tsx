import type { JSX } from "preact";

/** The sign of the product. */
export function Rose(): JSX.Element {
  return (
    <svg class="rose" viewBox="0 0 20 20" aria-hidden="true">
      <circle cx="10" cy="10" r="8.25" fill="none" stroke="currentColor" stroke-width="1.25" opacity=".45" />
      <path
        fill="currentColor"
        fill-rule="evenodd"
        d="M10 0l2 8 8 2-8 2-2 8-2-8-8-2 8-2zM10 8.500a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3"
      />
    </svg>
  );
}
