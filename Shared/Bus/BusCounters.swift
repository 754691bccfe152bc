/// Counts of what a bus has done since it was opened, for metrics.
public struct BusCounters: Sendable {
    public var framesSent = 0
    public var bytesSent = 0
    public var framesReceived = 0
    public var bytesReceived = 0
    /// Messages that are not frames, or contain an entry of an unknown layout.
    public var framesRefused = 0
    /// Connections refused because their key belongs to no role that may listen.
    public var connectionsRefused = 0
    public var requests = 0
    /// Requests published again because no response came in time.
    public var requestsRepeated = 0
    public var requestsTimedOut = 0
    /// Requests refused because too many were in flight.
    public var requestsRefused = 0
    /// Responses to requests that already had a response or had timed out.
    public var lateResponses = 0
    /// Repetitions dropped because their request was being processed.
    public var repetitionsDropped = 0
}
