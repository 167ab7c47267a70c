# Homebrew formula. `cargo xtask dist` fills in version and checksum; HOMEBREW_ORDO_URL names the folder of the release.
class Ordo < Formula
  desc "Durable job scheduler with incidents and a dashboard"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
  url "#{ENV.fetch("HOMEBREW_ORDO_URL")}/ordo-@VERSION@-@TARGET@.tar.gz"
  sha256 "@SHA256@"

  depends_on :linux

  def install
    bin.install "ordo"
    bash_completion.install "completions/ordo.bash" => "ordo"
    zsh_completion.install "completions/_ordo"
    fish_completion.install "completions/ordo.fish"
  end

  service do
    run [opt_bin/"ordo", "serve"]
    keep_alive true
    working_dir var/"ordo"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ordo --version")
  end
end
