import Reactor
import ServiceKit

/// Whether the storage of objects is there, by asking it now and then.
@Reactor
final class StorageHealth {
    private static let interval = Duration.seconds(5)
    /// Until it was reached for the first time.
    private static let startingInterval = Duration.seconds(1)

    private let objects: any ObjectStorage
    private let pool: FilePool
    private let log: Log
    private(set) var isUp = false
    /// A process with a wrong address or key is never ready. One whose store goes away later is: it takes uploads.
    private(set) var hasBeenUp = false

    init(_ objects: any ObjectStorage, _ pool: FilePool, log: Log) {
        self.objects = objects
        self.pool = pool
        self.log = log
    }

    func start() {
        Reactor.spawn { [self] in
            while true {
                await check()
                await Reactor.sleep(for: hasBeenUp ? Self.interval : Self.startingInterval)
            }
        }
    }

    private func check() async {
        let objects = objects
        let result = await pool.run { Result { () throws(FileError) in try objects.check() } }
        switch result {
        case .success:
            if !isUp, hasBeenUp { log.info("the storage of files is reached again") }
            (isUp, hasBeenUp) = (true, true)
        case .failure(let error):
            if isUp || !hasBeenUp {
                log.error("the storage of files is not reached", [LogField("reason", error.description)])
            }
            isUp = false
        }
    }
}
