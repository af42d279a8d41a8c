/** The person has left a question without an answer: with Ctrl-C, or with Ctrl-D where input ends. */
export class Left extends Error {
  readonly how: "cancel" | "decline";

  constructor(how: "cancel" | "decline") {
    super(how === "cancel" ? "cancelled" : "declined");
    this.how = how;
  }
}

/** The person wants to change what was asked before. */
export class Back extends Error {}
