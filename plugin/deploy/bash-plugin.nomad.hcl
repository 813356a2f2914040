job "bash-plugin" {
  group "bash-plugin" {
    count = 3
    network {
      port "plugin" { to = 7700 }
      port "health" { to = 7701 }
    }
    service {
      name     = "bash-plugin"
      port     = "plugin"
      provider = "nomad"
      check {
        type     = "http"
        port     = "health"
        path     = "/healthz"
        interval = "10s"
        timeout  = "2s"
      }
    }
    task "bash-plugin" {
      driver       = "docker"
      kill_timeout = "40s" # longer than -drain
      config {
        image    = "bash-plugin:latest"
        ports    = ["plugin", "health"]
        cap_drop = ["all"]
        volumes  = ["secrets:/run/secrets:ro"]
      }
      template {
        destination = "secrets/plugin.pem"
        data        = "{{ with nomadVar \"nomad/jobs/bash-plugin\" }}{{ .plugin }}{{ end }}"
      }
      template {
        destination = "secrets/plugin-key.pem"
        data        = "{{ with nomadVar \"nomad/jobs/bash-plugin\" }}{{ .key }}{{ end }}"
      }
      template {
        destination = "secrets/ca.pem"
        data        = "{{ with nomadVar \"nomad/jobs/bash-plugin\" }}{{ .ca }}{{ end }}"
      }
      resources {
        cpu    = 500
        memory = 2048
      }
    }
  }
}
