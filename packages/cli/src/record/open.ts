import { NotARecording, type Recording, readRecording } from "portolan-recording";
import { Failure } from "../failure.ts";

/** Reads a recording that a command line names. */
export function openForCommand(file: string): Recording {
  try {
    return readRecording(file);
  } catch (cause) {
    if (!(cause instanceof NotARecording)) throw cause;
    throw new Failure("usage", cause.message, { next: "portolan record --help", cause });
  }
}
