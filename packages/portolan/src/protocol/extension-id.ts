/**
 * The id of an extension: labels of a domain with dots between them, a slash, and a name, in the words of the keys of `_meta`.
 * A label begins with a letter and does not end with a hyphen.
 */
export const extensionId: RegExp = /^(?![^/]*(-[./]|\.[^a-z]))[a-z][a-z\d.-]*\/[a-z\d]([\w.-]*[a-z\d])?$/i;
