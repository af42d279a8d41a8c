import type { Connect } from "./peer.d.mts";

export declare const connect: Connect;
