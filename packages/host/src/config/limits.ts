// Every limit on configuration files. Files can come from strangers, for example with a cloned project, so reading is
// bounded everywhere. No limit has an option.

/** Also the limit of the text that `parseConfig` and `editConfig` take. */
export const maxFileBytes: number = 4 * 1024 * 1024;
/** Nested objects and lists; the readers are recursive. */
export const maxDepth = 64;
/** Brackets and indentation counted before YAML is parsed; strings can contain brackets, so it is above `maxDepth`. */
export const maxRoughDepth: number = 4 * maxDepth;
/** Servers in one file. */
export const maxServers = 1_000;
/** Arguments, variables, headers, roots, inputs or options in one list. */
export const maxItems = 1_000;
/** One string, before and after its placeholders are replaced. No operating system takes a longer argument. */
export const maxStringChars: number = 128 * 1024;
/** All strings of one server together, after their placeholders are replaced. */
export const maxEntryChars: number = 1024 * 1024;
/** The name of a server. */
export const maxNameChars = 256;
/** An environment file. */
export const maxEnvFileChars: number = 1024 * 1024;
/** Timeouts in files. */
export const maxDurationMs: number = 24 * 60 * 60 * 1_000;
/** Members of the same name that one edit of a JSON file removes. */
export const maxDuplicates = 10;
/** Problems that are reported for one server. */
export const maxProblems = 10;
/** A placeholder that is quoted in a message. */
export const maxPlaceholderChars = 200;
/** Parent folders that are searched for the root of the repository. */
export const maxParentFolders = 64;
