/// What a bus has done since it was opened, for metrics.
package struct BusCounters: Sendable {
    package var framesSent = 0
    package var bytesSent = 0
    package var framesReceived = 0
    package var bytesReceived = 0
    /// Bytes that are no frame, or an entry of no known layout.
    package var framesRefused = 0
    /// Connections refused because their key is of no role that may listen.
    package var strangersRefused = 0
    package var requests = 0
    /// Requests published again because no answer came in time.
    package var requestsRepeated = 0
    package var requestsTimedOut = 0
    /// Requests refused because too many were in flight.
    package var requestsRefused = 0
    /// Answers to requests that were answered or given up before.
    package var answersLate = 0
    /// Repetitions of requests in work, dropped.
    package var repetitionsDropped = 0
}
