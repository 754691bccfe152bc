import Reactor

/// The writer's counters since the process started.
struct WriterMetrics {
    var batches = 0
    var rows = 0
    var racesLost = 0
    var batchesHalved = 0
    var commitTime = Duration.zero

    mutating func observe(rows count: Int, time: Duration) {
        batches += 1
        rows += count
        commitTime += time
    }
}
