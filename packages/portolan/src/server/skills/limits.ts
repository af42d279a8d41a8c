/**
 * Defaults and bounds of `portolan/server/skills` and `portolan/server/skills/node`. None can be changed.
 * Those of one skill are in `protocol/skills/limits.ts`.
 */

/** Skills on one page of `skills/list`. An entry of 512 files has about 100 KB. */
export const skillsPageSize = 100;

/** Skills that `resources/list` of a server names, each with one resource. */
export const maxListedSkills = 10_000;

/** Files of one source in memory, and their bytes: a folder that is larger is refused. */
export const maxSourceFiles = 20_000;
export const maxSourceBytes: number = 256 * 1024 * 1024;
