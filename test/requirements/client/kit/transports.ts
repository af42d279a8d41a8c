import { transports } from "../../../kit/revisions.ts";

/** The ways in which a client reaches a server. */
export const clientTransports = [...transports, "http"] as const;

export type ClientTransport = (typeof clientTransports)[number];

/** Where both sides share one channel. */
export const channels = transports;
