import type { RequestId } from "../../jsonrpc/message.ts";
import type { NotificationParams, ProgressToken } from "./base.ts";

/** The params of `notifications/cancelled`. */
export interface CancelledParams extends NotificationParams {
  /** Optional on 2025-11-25 only. */
  requestId?: RequestId;
  reason?: string;
}

/** The params of `notifications/progress`. */
export interface ProgressParams extends NotificationParams {
  progressToken: ProgressToken;
  /** Grows with each notification; fractions are fine. */
  progress: number;
  total?: number;
  /** Unknown to the oldest revision. */
  message?: string;
}
