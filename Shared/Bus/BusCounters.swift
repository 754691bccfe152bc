/// What a bus has done since it was opened, for metrics.
public struct BusCounters: Sendable {
    public var framesSent = 0
    public var bytesSent = 0
    public var framesReceived = 0
    public var bytesReceived = 0
    /// Bytes that are no frame, or an entry of no known layout.
    public var framesRefused = 0
    /// Connections refused because their key is of no role that may listen.
    public var strangersRefused = 0
    public var requests = 0
    /// Requests published again because no answer came in time.
    public var requestsRepeated = 0
    public var requestsTimedOut = 0
    /// Requests refused because too many were in flight.
    public var requestsRefused = 0
    /// Answers to requests that were answered or given up before.
    public var answersLate = 0
    /// Repetitions of requests in work, dropped.
    public var repetitionsDropped = 0
}
