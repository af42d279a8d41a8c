export default function bundleServers(): Promise<void>;
export function quickServer(path: string): string;
