/** Of the command and of the library that it comes with. */
export const version = "0.1.0";

/** Who the command says it is. */
export const info: { readonly name: string; readonly version: string } = { name: "portolan", version };
