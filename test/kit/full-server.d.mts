import type { Servable, ServerOptions } from "portolan/server";

/** Every error that was masked for a peer since the process began. */
export const errors: { error: unknown; about: { method?: string; reference?: string } }[];

export default function createFullServer(options?: ServerOptions<undefined>): Servable;
