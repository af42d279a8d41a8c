/** Tells of what passes through every HTTP server of this process, until the returned function is called. */
export function tapHttp(note: (connection: string, from: "client" | "server", text: string) => void): () => void;
