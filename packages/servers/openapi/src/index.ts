export { DescriptionError, type OpenApiDescription } from "./description.ts";
export type { CredentialRequest, CredentialSource, OpenApiLimits, OpenApiOptions } from "./options.ts";
export { readDescription } from "./read-description.ts";
export { fromOpenApi } from "./server.ts";
