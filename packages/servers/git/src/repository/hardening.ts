import { devNull } from "node:os";
import { dirname } from "node:path";
import type { RepositoryLocation } from "./jail.ts";
import type { Program } from "./run.ts";

type Environment = { readonly [name: string]: string };
/** A git setting that overrides every configuration file. */
export type Setting = readonly [key: string, value: string];

/** Fixed values for all settings by which a repository could make git run programs, read other files or change its output. */
const settings: readonly Setting[] = [
  ["core.hooksPath", devNull],
  ["core.fsmonitor", "false"],
  ["core.attributesFile", devNull],
  ["core.excludesFile", devNull],
  ["core.protectHFS", "true"],
  ["core.protectNTFS", "true"],
  ["core.quotePath", "false"],
  ["core.alternateRefsCommand", "false"],
  ["protocol.allow", "never"],
  ["credential.helper", ""],
  ["submodule.recurse", "false"],
  ["diff.ignoreSubmodules", "dirty"],
  ["diff.orderFile", devNull],
  ["status.submoduleSummary", "false"],
  ["log.showSignature", "false"],
  ["merge.verifySignatures", "false"],
  ["commit.gpgSign", "false"],
  ["gpg.program", "false"],
  ["gpg.openpgp.program", "false"],
  ["gpg.x509.program", "false"],
  ["gpg.ssh.program", "false"],
  ["gpg.ssh.defaultKeyCommand", "false"],
  ["mailmap.file", devNull],
  ["rerere.enabled", "false"],
  ["gc.auto", "0"],
  ["gc.recentObjectsHook", ""],
  ["maintenance.auto", "false"],
  ["branch.autoSetupMerge", "false"],
  ["checkout.guess", "false"],
  ["color.ui", "false"],
  ["i18n.commitEncoding", "UTF-8"],
  ["i18n.logOutputEncoding", "UTF-8"],
  ["user.useConfigOnly", "true"],
];

/** Variables of this process that git needs to run and that do not configure it. */
const passedOn = ["TZ", "TMPDIR", "TEMP", "TMP", "SystemRoot", "ComSpec", "PATHEXT"];

/** Returns the environment of git for a repository, without the user's and the system's configuration. */
export function hardenedEnvironment(
  { path }: Program,
  location: RepositoryLocation,
  extra: readonly Setting[] = [],
): Environment {
  const all = [...settings, ...extra];
  return {
    ...pick(passedOn),
    PATH: path,
    HOME: devNull,
    LC_ALL: "C",
    GIT_DIR: location.gitDir,
    GIT_COMMON_DIR: location.commonDir,
    // Also overrides a configured work tree elsewhere.
    ...(location.workTree !== undefined && { GIT_WORK_TREE: location.workTree }),
    GIT_CEILING_DIRECTORIES: dirname(location.root),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: "1",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: ":",
    GIT_SEQUENCE_EDITOR: ":",
    GIT_PAGER: "cat",
    GIT_ASKPASS: "false",
    GIT_SSH_COMMAND: "false",
    // Unlike protocol.allow, this also overrides settings for a single protocol.
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_LAZY_FETCH: "1",
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(
      all.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

/** The built-in merge, in place of a driver that a repository configures. */
const plainMerge = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B";

/** Overrides for settings whose names contain a name that the repository chooses. */
const overrides: readonly { readonly key: RegExp; readonly settings: (name: string) => readonly Setting[] }[] = [
  {
    key: /^filter\.(.*)\.(?:clean|smudge|process|required)$/s,
    settings: (name) => [
      [`filter.${name}.clean`, ""],
      [`filter.${name}.smudge`, ""],
      [`filter.${name}.process`, ""],
      [`filter.${name}.required`, "false"],
    ],
  },
  { key: /^merge\.(.*)\.driver$/s, settings: (name) => [[`merge.${name}.driver`, plainMerge]] },
  { key: /^hook\.(.*)\.(?:command|event|enabled)$/s, settings: (name) => [[`hook.${name}.enabled`, "false"]] },
  { key: /^branch\.(.*)\.mergeoptions$/s, settings: (name) => [[`branch.${name}.mergeOptions`, ""]] },
];

/** Returns settings that disable every program that these configuration keys would run. */
export function overridesFor(keys: Iterable<string>): readonly Setting[] {
  const found = new Map<string, Setting>();
  for (const key of keys) {
    for (const override of overrides) {
      const name = override.key.exec(key)?.[1];
      if (name !== undefined) for (const setting of override.settings(name)) found.set(setting[0], setting);
    }
  }
  return [...found.values()];
}

/** Returns an environment with the user's own configuration, to read the author from it. */
export function userEnvironment({ path }: Program, location: RepositoryLocation): Environment {
  const own = ["HOME", "XDG_CONFIG_HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "GIT_CONFIG_GLOBAL"];
  return { ...pick([...passedOn, ...own]), PATH: path, GIT_DIR: location.gitDir, GIT_COMMON_DIR: location.commonDir };
}

function pick(names: readonly string[]): Environment {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
