import { devNull } from "node:os";
import { dirname } from "node:path";
import type { Place } from "./jail.ts";
import type { Program } from "./run.ts";

type Environment = { readonly [name: string]: string };
/** A setting of git that beats every file. */
export type Setting = readonly [key: string, value: string];

/** What git could be told by a repository to run, to read elsewhere, or to write differently: always the same here. */
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

/** The variables of this process that say nothing about git and are needed to run a program at all. */
const passedOn = ["TZ", "TMPDIR", "TEMP", "TMP", "SystemRoot", "ComSpec", "PATHEXT"];

/** The environment of every git that works on a repository: nothing of the user's, nothing of the system's. */
export function hardened({ path }: Program, place: Place, extra: readonly Setting[] = []): Environment {
  const all = [...settings, ...extra];
  return {
    ...pick(passedOn),
    PATH: path,
    HOME: devNull,
    LC_ALL: "C",
    GIT_DIR: place.gitDir,
    GIT_COMMON_DIR: place.commonDir,
    // Also beats a configured work tree somewhere else.
    ...(place.workTree !== undefined && { GIT_WORK_TREE: place.workTree }),
    GIT_CEILING_DIRECTORIES: dirname(place.root),
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
    // Unlike protocol.allow this also beats what is set for a single protocol.
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

/** What the built-in merge would do, for drivers that a repository names. */
const plainMerge = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B";

/** Answers to those settings of a repository that are known by their names only when they are read. */
const answers: readonly { readonly key: RegExp; readonly settings: (name: string) => readonly Setting[] }[] = [
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

/** The settings that undo what a repository's configuration, known by its keys, would have git run. */
export function answersTo(keys: Iterable<string>): readonly Setting[] {
  const found = new Map<string, Setting>();
  for (const key of keys) {
    for (const answer of answers) {
      const name = answer.key.exec(key)?.[1];
      if (name !== undefined) for (const setting of answer.settings(name)) found.set(setting[0], setting);
    }
  }
  return [...found.values()];
}

/** The environment in which git finds the user's own configuration, to read from it who commits. */
export function personal({ path }: Program, place: Place): Environment {
  const own = ["HOME", "XDG_CONFIG_HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "GIT_CONFIG_GLOBAL"];
  return { ...pick([...passedOn, ...own]), PATH: path, GIT_DIR: place.gitDir, GIT_COMMON_DIR: place.commonDir };
}

function pick(names: readonly string[]): Environment {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
