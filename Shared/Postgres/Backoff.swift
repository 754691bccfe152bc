/// The delay before the next attempt. It doubles from `first` up to `limit`, and is shortened each time by a random
/// part of up to a half, so that the clients of a restarted server do not all arrive at once.
struct Backoff {
    let first: Duration
    let limit: Duration
    private var next: Duration

    init(first: Duration = .milliseconds(50), limit: Duration = .seconds(1)) {
        self.first = first
        self.limit = limit
        next = first
    }

    mutating func delay(using random: inout some RandomNumberGenerator) -> Duration {
        defer { next = min(next * 2, limit) }
        return next * Double.random(in: 0.5...1, using: &random)
    }

    mutating func reset() { next = first }
}
