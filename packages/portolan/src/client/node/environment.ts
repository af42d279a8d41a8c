/** Environment variables by name. */
export interface Environment {
  readonly [name: string]: string | undefined;
}

const inherited = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR"];
const inheritedOnWindows = [
  ["PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERNAME", "USERPROFILE"],
  ["HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)"],
  ["PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS", "OS", "LANG", "TERM", "TZ"],
].flat();

/** Returns the variables that every program needs, and those set for the child. Our own secrets are not passed on. */
export function childEnvironment(
  own: Environment,
  added: Environment = {},
  platform: string = process.platform,
): { [name: string]: string } {
  const isWindows = platform === "win32";
  const allowed = new Set(isWindows ? inheritedOnWindows : inherited);
  // On Windows `Path` and `PATH` are one variable: the child's value replaces ours.
  const toKey = (name: string) => (isWindows ? name.toUpperCase() : name);
  const set = new Set(Object.keys(added).map(toKey));
  const environment: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(own)) {
    const key = toKey(name);
    if (value === undefined || set.has(key) || !(allowed.has(key) || key.startsWith("LC_"))) continue;
    // A shell function that bash exported is code, not a setting.
    if (!value.startsWith("()")) environment[name] = value;
  }
  for (const [name, value] of Object.entries(added)) if (value !== undefined) environment[name] = value;
  return environment;
}
