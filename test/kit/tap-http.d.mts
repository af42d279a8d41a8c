/** Reports every message of all HTTP servers in this process until the returned function is called. */
export function tapHttp(note: (connection: string, from: "client" | "server", text: string) => void): () => void;
