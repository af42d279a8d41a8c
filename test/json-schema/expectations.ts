const REMOTE = "refers to another document, and documents are not fetched";
const DIALECT = "has a custom meta-schema, which is an unknown dialect";

export type Draft = "draft2020-12" | "draft7";

/** Groups whose schema is refused by design, with the reason; `*` stands for all groups of a file. No result may be wrong. */
export const refused: { readonly [draft in Draft]: { readonly [group: string]: string } } = {
  "draft2020-12": {
    "defs: validate definition against metaschema": REMOTE,
    "ref: remote ref, containing refs itself": REMOTE,
    "refRemote: *": REMOTE,
    "dynamicRef: strict-tree schema, guards against misspelled properties": REMOTE,
    "dynamicRef: tests for implementation dynamic anchor and reference link": REMOTE,
    "dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first": REMOTE,
    "dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first": REMOTE,
    "dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor": REMOTE,
    "vocabulary: schema that uses custom metaschema with with no validation vocabulary": DIALECT,
    "vocabulary: ignore unrecognized optional vocabulary": DIALECT,
  },
  draft7: {
    "definitions: validate definition against metaschema": REMOTE,
    "ref: remote ref, containing refs itself": REMOTE,
    "refRemote: *": REMOTE,
  },
};

/** Returns the reason why the schema of a group is refused; undefined if it is not. */
export function refusalOf(draft: Draft, file: string, group: string): string | undefined {
  const listed = refused[draft];
  return listed[`${file}: ${group}`] ?? listed[`${file}: *`];
}

/** Returns true if the schema works once the other document is embedded in it. */
export function isRemote(reason: string): boolean {
  return reason === REMOTE;
}
