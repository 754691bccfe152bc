import Bytes
import JSON
import Reactor

/// The readiness of a process: the response to `/readyz`.
///
/// `/healthz` needs no state: a response shows that the reactor runs.
@Reactor
public final class Health {
    /// A condition of readiness: nil while it holds, else the reason for an operator.
    public typealias Condition = @Reactor () -> String?

    private var conditions: [(name: StaticString, condition: Condition)] = []

    public init() {}

    /// Adds a condition: the process is ready only while `condition` returns nil.
    public func require(_ name: StaticString, _ condition: @escaping Condition) {
        conditions.append((name, condition))
    }

    /// The reasons why the process is not ready; empty when it is.
    public var reasons: [(name: StaticString, reason: String)] {
        conditions.compactMap { name, condition in condition().map { (name, $0) } }
    }

    /// `{"ready":false,"reasons":{"bus":"no store is connected"}}`
    ///
    /// - Returns: whether the process is ready.
    public func write(to buffer: inout ByteBuffer) -> Bool {
        let reasons = reasons
        buffer.beginObject()
        buffer.append(key: "ready", json: reasons.isEmpty)
        buffer.append(key: "reasons")
        buffer.beginObject()
        for (name, reason) in reasons { buffer.append(key: name, json: reason) }
        buffer.endObject()
        buffer.endObject()
        return reasons.isEmpty
    }
}
