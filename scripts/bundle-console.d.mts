export function bundleConsole(root: string, folder: string): Promise<string[]>;
