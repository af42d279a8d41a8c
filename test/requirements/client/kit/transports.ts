import { transports } from "../../../kit/revisions.ts";

/** The transports of the client's tests. */
export const clientTransports = [...transports, "http"] as const;

export type ClientTransport = (typeof clientTransports)[number];

/** The transports on which both sides share one channel. */
export const channels = transports;
