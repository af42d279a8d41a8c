/** Rows of the channels, and the HTTP rows that replace them because HTTP has a different rule. */
export const equivalentRows: { readonly [row: string]: string } = {
  A7: "E4",
  A8: "E3",
  B1: "E16",
  B7: "F7",
  B17: "X-sessionless",
  J5: "E10",
  "X-T21": "T21",
  "X-T23": "T23",
  "X-T27": "T27",
  "X-T33": "T12",
  "X-R10": "A9",
  "X-R11": "X-status",
  "X-R18": "E4",
  "X-R19": "T14",
  "X-rehandshake": "E15",
};
