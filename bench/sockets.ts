/** How many requests the package has under way at a time, unless it is told otherwise. */
export const SOCKETS = 8;

/**
 * How many of them go to one endpoint at most: three quarters. If that one is silent, the others
 * have the rest.
 */
export const SOCKETS_OF_AN_ENDPOINT = 6;

/** The `delivery.concurrency` with which one endpoint has eight. */
export const FOR_EIGHT_TO_AN_ENDPOINT = 11;
