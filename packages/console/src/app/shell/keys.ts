const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** The name of the key that starts commands on this machine. */
export const commandKey: string = isApple ? "⌘" : "Ctrl";

/** True if the command key, and no other, is held. */
export function isCommand(event: KeyboardEvent): boolean {
  return (isApple ? event.metaKey : event.ctrlKey) && !event.altKey && !event.shiftKey;
}
