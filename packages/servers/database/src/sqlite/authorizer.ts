import type { Authorizer } from "./binding.ts";

const allow = 0;
const deny = 1;

/** SQLite's authorizer action codes. */
const action = {
  createTempIndex: 3,
  createTempTable: 4,
  createTempTrigger: 5,
  createTempView: 6,
  pragma: 19,
  read: 20,
  select: 21,
  transaction: 22,
  attach: 24,
  detach: 25,
  function: 31,
  savepoint: 32,
  recursive: 33,
} as const;

/** Pragmas that only read. `named` ones take the name of a table or index, `plain` ones no value. */
const readingPragmas = new Map<string, "plain" | "named">([
  ...(["table_info", "table_xinfo", "index_list", "index_info", "index_xinfo", "foreign_key_list"] as const).map(
    (name) => [name, "named"] as const,
  ),
  ["table_list", "named"],
  ...(
    ["database_list", "collation_list", "function_list", "module_list", "pragma_list", "compile_options"] as const
  ).map((name) => [name, "plain"] as const),
  ...(["user_version", "application_id", "schema_version", "encoding", "page_count", "page_size"] as const).map(
    (name) => [name, "plain"] as const,
  ),
  ...(["journal_mode", "foreign_keys", "freelist_count", "data_version"] as const).map(
    (name) => [name, "plain"] as const,
  ),
]);

/** Functions that reach outside the database or into the process. */
const outside = new Set(["load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "fsdir", "zipfile"]);

/** Authorizer for statements that read; everything not listed is denied. */
export const forReading: Authorizer = (what, first, second) => {
  switch (what) {
    case action.select:
    case action.read:
    case action.recursive:
      return allow;
    case action.function:
      return mayCall(second);
    case action.pragma:
      return mayUsePragma(first, second);
    default:
      return deny;
  }
};

/** Authorizer for statements that write: denies whatever leaves the file, the transaction or the settings. */
export const forWriting: Authorizer = (what, first, second) => {
  switch (what) {
    case action.attach:
    case action.detach:
    case action.transaction:
    case action.savepoint:
    case action.createTempIndex:
    case action.createTempTable:
    case action.createTempTrigger:
    case action.createTempView:
      return deny;
    case action.function:
      return mayCall(second);
    case action.pragma:
      return mayUsePragma(first, second);
    default:
      return allow;
  }
};

function mayCall(name: string | null): number {
  return name !== null && !outside.has(name.toLowerCase()) ? allow : deny;
}

function mayUsePragma(name: string | null, value: string | null): number {
  const kind = readingPragmas.get(name?.toLowerCase() ?? "");
  return kind === "named" || (kind === "plain" && value === null) ? allow : deny;
}
