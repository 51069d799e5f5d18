/**
 * For the tests of a host: an outbox that records what would be reported.
 *
 * @module express-affiliate/testing
 */
export { type RecordingOutbox, recordingOutbox } from "./recording-outbox.js";
