import Bytes
import JSON
import Reactor

/// Whether a process should be given work: what `/readyz` answers.
///
/// `/healthz` needs no state. That the reactor answers at all is what it tells.
@Reactor
public final class Health {
    /// A condition of readiness: nil while it holds, else the reason in words for an operator.
    public typealias Condition = @Reactor () -> String?

    private var conditions: [(name: StaticString, condition: Condition)] = []

    public init() {}

    /// The process is ready only while `condition` gives nil.
    public func require(_ name: StaticString, _ condition: @escaping Condition) {
        conditions.append((name, condition))
    }

    /// What keeps the process from being ready; empty when it is.
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
