export { type CatalogChange, type CatalogLists, catalogIn, diffCatalogs } from "./catalogs.ts";
export { type CallOutcome, checkExpectation, type Expectation, judge } from "./expectations.ts";
export {
  type FindOptions,
  loadRecording,
  openRecording,
  type RecordingReader,
  type RecordingRow,
  type RowRange,
} from "./reader.ts";
export { openRecordedServer } from "./recorded-channel.ts";
export { RecordedServer } from "./recorded-server.ts";
export {
  NotARecording,
  openRecorder,
  type RecordedMessage,
  type Recorder,
  type RecorderProcess,
  type Recording,
  type RecordingHeader,
  readRecording,
  type Side,
} from "./recording.ts";
export { endCutRecording } from "./recording-file.ts";
export { MessageRedactor, redactedMark, redactMessage } from "./redact.ts";
export {
  type CallForm,
  type CallToRender,
  type RenderedTarget,
  type RenderOptions,
  renderCall,
} from "./render-call.ts";
export { type AnswerDifference, rerun } from "./rerun.ts";
export {
  type CallVerdict,
  expandVariables,
  type IncomingResult,
  type OutgoingCall,
  type RunCallOptions,
  runCall,
} from "./run-call.ts";
export { callsFile, changeCalls, readCalls, type SavedCall, type SavedCalls, secretsIn } from "./saved-calls.ts";
