import type { ServerTarget } from "portolan-host";

/** A server that `add` found in a server card, a registry or a bundle. Nothing of it has run. */
export interface FoundServer {
  /** A name for the entry, made from the one of the server. */
  readonly name: string;
  readonly target: ServerTarget;
  readonly from: Origin;
  readonly warnings: readonly string[];
  /** Puts the files of the server where its target looks for them. */
  readonly unpack?: () => Promise<void>;
}

/** Where a server was found. */
export interface Origin {
  readonly kind: "card" | "registry" | "bundle";
  /** The name that the server has there: `com.example/weather`. */
  readonly name: string;
  readonly version?: string;
  /** The address or the path of what was read. */
  readonly place: string;
  /** The folder with the files of a bundle. */
  readonly folder?: string;
  /** The SHA-256 of a bundle. */
  readonly sha256?: string;
}

/** Returns a name for an entry: the last part of the name of a server, with what a command line takes unquoted. */
export function entryNameOf(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  const plain = last.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return plain.slice(0, maxNameChars) || "server";
}

const maxNameChars = 64;
