const REMOTE = "refers to another document, and nothing is fetched";
const DIALECT = "a meta-schema of one's own is another dialect";

export type Draft = "draft2020-12" | "draft7";

/** Groups whose schema is refused by design, with the reason; `*` stands for all groups of a file. No case may be answered wrongly. */
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

/** Why the schema of a group is refused; undefined where it is not. */
export function refusalOf(draft: Draft, file: string, group: string): string | undefined {
  const listed = refused[draft];
  return listed[`${file}: ${group}`] ?? listed[`${file}: *`];
}

/** Whether the reason for a refusal is gone when the other document lies inside the schema. */
export function isRemote(reason: string): boolean {
  return reason === REMOTE;
}
