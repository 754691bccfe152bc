import Reactor

/// Divides text work (folding and matching) into pieces, with other work in between. One piece runs each millisecond
/// over all requesters, who take turns.
///
/// Pieces are counted in bytes. The smallest is one text, whose limit is 16 KiB.
@Reactor
final class TextTurns {
    /// A caller begins another piece when this one would exceed this size.
    nonisolated static let pieceBytes = 16 * 1024
    private static let pause = Duration.milliseconds(1)

    /// The room left in the current piece. The first one has yet to begin.
    struct Piece {
        fileprivate(set) var room = 0
    }

    private var waiting: [Requester: FIFO<UnsafeContinuation<Void, Never>>] = [:]
    private var ring = FIFO<Requester>()
    private var isPausing = false
    /// The number of pieces begun.
    private(set) var pieces = 0

    /// Takes room for a text from the piece. If there is not enough, waits for a turn and begins the next piece.
    func take(_ bytes: Int, into piece: inout Piece) async {
        if bytes > piece.room {
            await turn(of: .current)
            piece.room = max(bytes, Self.pieceBytes)
        }
        piece.room -= bytes
    }

    private func turn(of requester: Requester) async {
        pieces += 1
        guard isPausing else { return pauseBehindPiece() }
        await withUnsafeContinuation { continuation in
            if waiting[requester] == nil { ring.append(requester) }
            waiting[requester, default: FIFO()].append(continuation)
        }
    }

    /// Delays the next turn, so work that is ready by then runs first.
    private func pauseBehindPiece() {
        isPausing = true
        Reactor.after(Self.pause) { [self] in
            isPausing = false
            giveTurn()
        }
    }

    private func giveTurn() {
        guard let requester = ring.popFirst() else { return }
        let continuation = waiting[requester]!.popFirst()!
        if waiting[requester]!.isEmpty { waiting[requester] = nil } else { ring.append(requester) }
        pauseBehindPiece()
        continuation.resume()
    }
}
