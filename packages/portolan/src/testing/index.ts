// The types that TypeScript infers for a user's exports are named through these entries, so a program must have them.

export type { Link, LinkEvents, ResponseSink } from "../client/channel-link.ts";
export type { Clock } from "../client/deadlines.ts";
export type {} from "../client/index.ts";
export type {} from "../server/index.ts";
export { type BytesPairOptions, createBytesPair } from "./bytes-pair.ts";
export { type ChannelsUnderTest, channelContract } from "./channel-contract.ts";
export { createClock, type ManualClock } from "./clock.ts";
export { type ConnectInMemoryOptions, connectInMemory, type TestClient } from "./connect-in-memory.ts";
export type { ContractCheck } from "./contract.ts";
export { type ChannelFaults, type FaultyChannel, faultyChannel } from "./faulty-channel.ts";
export { type FarEnd, farEndOf, type LinkUnderTest, linkContract } from "./link-contract.ts";
export { type Random, seededRandom, splitRandomly } from "./random.ts";
export { type ReceivedQuestion, type ScriptedAnswer, type ScriptedAnswers, scriptedAnswers } from "./scripted.ts";
export { type StorageUnderTest, storageContract } from "./storage-contract.ts";
export { recordChannel, type Transcript } from "./transcript.ts";
