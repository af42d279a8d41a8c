/** The version of the command and of the library that contains it. */
export const version = "0.1.0";

/** The identity that the command sends to servers. */
export const info: { readonly name: string; readonly version: string } = { name: "portolan", version };
