import type { Servable, ServerOptions } from "portolan/server";

/** All errors that were reported to `onError` since the process began. */
export const errors: { error: unknown; about: { method?: string; reference?: string } }[];

export default function createFullServer(options?: ServerOptions<undefined>): Servable;
