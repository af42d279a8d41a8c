/** A length of time as a person reads it: `0.84 s`, `12 s`, `3:05`. */
export function durationText(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1000).toFixed(ms < 995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The time that something waits: `0:08`. */
export function waitText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** A share as a person reads it: `12 %`, and `< 1 %` for a little. */
export function percentText(share: number): string {
  return `${share > 0 && share < 0.01 ? "< 1" : Math.round(share * 100)} %`;
}

/** A count with the right form of its noun. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
