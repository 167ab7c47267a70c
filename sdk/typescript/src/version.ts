/** The version of this package: the one of the server that it is tested against. */
export const VERSION = "0.2.0";
